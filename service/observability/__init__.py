"""What rummyd tells its operators: log lines and metrics. Any other part of the service may use it."""
