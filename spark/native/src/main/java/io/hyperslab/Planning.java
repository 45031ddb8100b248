package io.hyperslab;

/**
 * Plans tables over files, from their metadata. Requests and answers are JSON, splits are bytes. One thread plans; any
 * thread may cancel.
 */
public final class Planning implements AutoCloseable {
  private final long planning = NativePlan.begin();
  private boolean closed;

  /** {@code {"schema": …, "rows": …, "valueBytes": …, "exact": …, "chunks": …, "chunksLeft": …, "skipped": […]}}. */
  public String describe(String request) {
    return NativePlan.describe(planning, request);
  }

  /** First how the splits make partitions (JSON in UTF-8), then the splits. */
  public byte[][] split(String request) {
    return NativePlan.split(planning, request);
  }

  /** The number of rows; reads values only if a predicate must be tested row by row. */
  public long count(String request) {
    return NativePlan.count(planning, request);
  }

  /** Makes what runs now, or later, end with {@link CancelledException}. */
  public void cancel() {
    NativePlan.cancel(planning);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      NativePlan.end(planning);
    }
  }
}
