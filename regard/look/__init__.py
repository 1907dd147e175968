"""From attention to pictures: trace a model, attribute its output, and draw both."""
