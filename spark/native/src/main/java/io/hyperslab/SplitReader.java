package io.hyperslab;

import java.util.concurrent.atomic.LongAccumulator;

/**
 * Reads the record batches of one split. One thread reads; any thread can cancel. A batch is the address of a structure of
 * the Arrow C Data interface, valid until the next call of {@link #next} or {@link #close}.
 *
 * <pre>{@code
 * try (SplitReader reader = new SplitReader(split, "{}", "[]")) {
 *   while (reader.next()) {
 *     process(reader.schema(), reader.batch());
 *   }
 * }
 * }</pre>
 */
public final class SplitReader implements AutoCloseable {
  private static final LongAccumulator LONGEST_STOP = new LongAccumulator(Math::max, 0);

  private final long cancellation;
  private final byte[] split;
  private final String sessionOptions;
  private final String aggregates;
  private final String keys;
  private final String top;
  private long reader;
  private long schema;
  private boolean opened;
  /** {@link System#nanoTime} of the first {@link #cancel}; 0 if not cancelled. */
  private volatile long cancelledAt;

  private long batch;
  private boolean closed;

  /**
   * Opens a split.
   *
   * @param split one of the splits of {@link Planning#split}
   * @param sessionOptions JSON: threads, limits, path policy
   * @param aggregates JSON list of {@code {"name": …, "function": …, "column": …}}, whose results form a single row; an
   *     empty list reads the rows
   * @throws ConflictException if the file changed since the split was planned
   * @throws InvalidInputException if the split or the options are malformed
   * @throws NotFoundException if the file does not exist
   */
  public SplitReader(byte[] split, String sessionOptions, String aggregates) {
    this(split, sessionOptions, aggregates, "null", "null");
    open();
  }

  /**
   * Names a split, of which only the first rows in a sort order may be read. {@link #open} opens it.
   *
   * @param split one of the splits of {@link Planning#split}
   * @param sessionOptions JSON: threads, limits, path policy
   * @param aggregates JSON list of {@code {"name": …, "function": …, "column": …}}; an empty list reads the rows
   * @param keys JSON list of the columns by which the rows are grouped, or {@code null}. The batches have these columns,
   *     then the aggregates, and may have several rows of the same keys
   * @param top JSON: {@code {"keys": [{"column": …, "descending": …, "nullsFirst": …}, …], "count": …}}, or {@code null}
   *     for all rows. The rows are in the order of the file. NaN is greater than all other numbers
   */
  public SplitReader(
      byte[] split, String sessionOptions, String aggregates, String keys, String top) {
    this.split = split;
    this.sessionOptions = sessionOptions;
    this.aggregates = aggregates;
    this.keys = keys;
    this.top = top;
    cancellation = NativeReader.begin();
  }

  /**
   * Opens the split, which may take long if its file is remote. Another thread can cancel it meanwhile. Does nothing if it
   * is open. After an error, the reader is closed.
   *
   * @throws CancelledException after {@link #cancel}
   * @throws ConflictException if the file changed since the split was planned
   * @throws InvalidInputException if the split or the options are malformed
   * @throws NotFoundException if the file does not exist
   */
  public void open() {
    if (opened) {
      return;
    }
    try {
      reader = NativeReader.open(cancellation, split, sessionOptions, aggregates, keys, top);
      opened = true;
      schema = NativeReader.schema(reader);
    } catch (RuntimeException error) {
      close();
      throw error;
    }
  }

  /** Returns the address of the batches' {@code ArrowSchema}. */
  public long schema() {
    return schema;
  }

  /**
   * Releases the current batch and reads the next one. Returns false after the last batch.
   *
   * @throws CancelledException after {@link #cancel}
   * @throws CorruptException if the file is damaged
   */
  public boolean next() {
    releaseBatch();
    try {
      batch = NativeReader.next(reader);
    } catch (CancelledException error) {
      if (cancelledAt != 0) {
        LONGEST_STOP.accumulate(System.nanoTime() - cancelledAt);
      }
      throw error;
    }
    return batch != 0;
  }

  /** Returns the address of the batch's {@code ArrowArray}, a struct of the columns. */
  public long batch() {
    return batch;
  }

  /**
   * Returns eight counters: bytes read, chunks decoded, nanoseconds in filters, chunks skipped, requests for remote files, bytes
   * that came of them, parts of chunks that were inflated from restart points, and bytes that need not be inflated because of
   * that.
   */
  public long[] counters() {
    return NativeReader.counters(reader);
  }

  /** Makes the running {@link #next} and later ones throw a {@link CancelledException}. */
  public void cancel() {
    if (cancelledAt == 0) {
      cancelledAt = System.nanoTime();
    }
    NativeReader.cancel(cancellation);
  }

  /** Returns the longest time in nanoseconds from {@link #cancel} to the end of {@link #next} in this process, and resets it. */
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
    NativeReader.end(cancellation);
    if (!opened) {
      return;
    }
    try {
      releaseBatch();
      if (schema != 0) {
        NativeBatch.release(schema);
      }
    } finally {
      NativeReader.close(reader);
    }
  }
}
