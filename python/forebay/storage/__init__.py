"""Files and folders of results: read with care, written atomically, locked and sealed."""
