"""Dialogues in which a statement is corrected in a later session, or only seems to be."""
