"""Between the API's messages and the values of `engine` and `service.games`: the one place that knows both."""
