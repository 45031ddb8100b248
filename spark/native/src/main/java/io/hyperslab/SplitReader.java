package io.hyperslab;

import java.util.concurrent.atomic.LongAccumulator;

/**
 * Reads the batches of one split. One thread reads; any thread may cancel. Batches are addresses of Arrow C Data
 * structures, valid until the next call of {@link #next} or {@link #close}.
 */
public final class SplitReader implements AutoCloseable {
  private static final LongAccumulator LONGEST_STOP = new LongAccumulator(Math::max, 0);

  private final long reader;
  private final long schema;
  /** When it was cancelled ({@link System#nanoTime}); 0 while it was not. */
  private volatile long cancelledAt;

  private long batch;
  private boolean closed;

  /**
   * @param split one of the splits of {@link NativePlan#split}
   * @param sessionOptions JSON: threads, limits, path policy
   * @param aggregates JSON: a list of {@code {"function": …, "column": …}}, whose answers are one row; an empty list asks
   *     for the rows
   */
  public SplitReader(byte[] split, String sessionOptions, String aggregates) {
    reader = NativeReader.open(split, sessionOptions, aggregates);
    try {
      schema = NativeReader.schema(reader);
    } catch (RuntimeException error) {
      NativeReader.close(reader);
      throw error;
    }
  }

  /** Address of the batches' {@code ArrowSchema}. */
  public long schema() {
    return schema;
  }

  /** Reads the next batch; false after the last. The batch before is released. */
  public boolean next() {
    releaseBatch();
    try {
      batch = NativeReader.next(reader);
    } catch (CancelledException error) {
      LONGEST_STOP.accumulate(System.nanoTime() - cancelledAt);
      throw error;
    }
    return batch != 0;
  }

  /** Address of the batch's {@code ArrowArray}, a struct of the columns. */
  public long batch() {
    return batch;
  }

  /** Bytes read, chunks decoded, nanoseconds in filters, chunks skipped. */
  public long[] counters() {
    return NativeReader.counters(reader);
  }

  /** Makes a {@link #next} that runs now or later end with {@link CancelledException}. */
  public void cancel() {
    if (cancelledAt == 0) {
      cancelledAt = System.nanoTime();
    }
    NativeReader.cancel(reader);
  }

  /** Nanoseconds for which the slowest {@link #next} of this process has continued after {@link #cancel}; resets the counter. */
  public static long longestStop() {
    return LONGEST_STOP.getThenReset();
  }

  private void releaseBatch() {
    if (batch != 0) {
      long address = batch;
      batch = 0;
      NativeBatch.release(address);
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      releaseBatch();
      NativeBatch.release(schema);
    } finally {
      NativeReader.close(reader);
    }
  }
}
