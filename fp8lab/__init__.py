"""Everything the notebooks import; docs/architecture.md says which module holds what."""
