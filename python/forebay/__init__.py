"""forebay: how large a router's buffer should be, with the proof."""
