"""Texts for readers: numbers with units, quantities, and foreign texts made safe to show."""
