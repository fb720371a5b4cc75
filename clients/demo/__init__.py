"""A whole match over the network: seats that play over gRPC and REST, watchers over both, and proof at the end."""
