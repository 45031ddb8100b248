package io.hyperslab;

/**
 * Plans tables over files from metadata. Requests and responses are JSON, splits are bytes. One thread plans; any thread
 * can cancel. The methods throw a {@link HyperslabException} of the kind that the error has.
 *
 * <pre>{@code
 * try (Planning planning = new Planning()) {
 *   String request = "{\"files\": [\"a.h5\"], \"dataset\": \"/temperature\"}";
 *   byte[][] result = planning.split(request);
 *   for (int i = 1; i < result.length; i++) {
 *     read(result[i]); // with a SplitReader, possibly in another process
 *   }
 * }
 * }</pre>
 */
public final class Planning implements AutoCloseable {
  private final long planning = NativePlan.begin();
  private boolean closed;

  /**
   * Describes a table. The result is JSON: {@code {"schema": …, "rows": …, "valueBytes": …, "exact": …, "chunks": …,
   * "chunksLeft": …, "listSizes": {…}, "skipped": […], "omitted": […]}}. {@code rows} is an upper bound unless {@code exact}
   * is true.
   *
   * @param request JSON: files, dataset, columns, predicates and so on
   * @throws CancelledException after {@link #cancel}
   */
  public String describe(String request) {
    return NativePlan.describe(planning, request);
  }

  /**
   * Splits a table. The first element of the result is JSON in UTF-8 that assigns the splits to partitions; the others are
   * the splits, for {@link SplitReader}.
   *
   * @param request JSON: files, dataset, columns, predicates and so on
   * @throws CancelledException after {@link #cancel}
   */
  public byte[][] split(String request) {
    return NativePlan.split(planning, request);
  }

  /**
   * Counts the rows. Reads values only if a predicate must be tested row by row.
   *
   * @param request JSON: files, dataset, predicates and so on
   * @throws CancelledException after {@link #cancel}
   */
  public long count(String request) {
    return NativePlan.count(planning, request);
  }

  /** Makes the running call and later ones throw a {@link CancelledException}. */
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
