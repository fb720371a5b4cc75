SwaggerUIBundle({
  url: "../openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null, // the one that is built in is on the internet
});
