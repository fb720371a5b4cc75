"""What clients call: gRPC and REST over the same handlers."""
