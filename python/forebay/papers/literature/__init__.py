"""Published claims outside the five papers: runs, claims with their sources, and pictures of both values."""
