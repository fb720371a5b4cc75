"""rummyd under the load of people, through its REST API alone: scenarios for Locust."""
