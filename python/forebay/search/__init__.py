"""The smallest buffer that meets the goals, and how sure that is."""
