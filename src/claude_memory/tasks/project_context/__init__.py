"""What kind of project this is, read from its manifests; the ecosystems are described in data."""
