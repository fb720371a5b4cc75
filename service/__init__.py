"""The game on the network: rummyd's server."""
