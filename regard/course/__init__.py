"""The course: attention in lessons, each an experiment on a model, written as one page. Trains nothing itself."""
