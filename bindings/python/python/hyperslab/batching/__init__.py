"""Mini-batches for machine learning: order, sources, threads that read ahead."""
