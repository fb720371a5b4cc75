"""Programs that speak to rummyd over the network, as anybody's could: none imports the engine or the service."""
