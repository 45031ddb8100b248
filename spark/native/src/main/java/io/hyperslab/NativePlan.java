package io.hyperslab;

/** Plans a table over files, from their metadata. Requests and answers are JSON, splits are bytes. */
public final class NativePlan {
  static {
    NativeLibrary.load();
  }

  private NativePlan() {}

  /** {@code {"schema": …, "rows": …, "valueBytes": …, "exact": …, "skipped": […]}}. */
  public static native String describe(String request);

  /** First how the splits make partitions (JSON in UTF-8), then the splits. */
  public static native byte[][] split(String request);

  /** The number of rows; reads values only where a predicate must be tested row by row. */
  public static native long count(String request);
}
