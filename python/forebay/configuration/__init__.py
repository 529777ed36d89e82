"""What an engineer writes: scenario files to start from, and the lines of routers."""
