package io.hyperslab;

/** One task's part of a {@link FileWrite}: a subfile of its own. Closed without {@link #finish}, it leaves nothing. */
public final class TaskWriter implements AutoCloseable {
  private final long writer;
  private boolean closed;

  /**
   * @param plan of {@link FileWrite#plan}
   * @param number rows of tasks follow each other by it; attempts at one task have one number
   * @param request JSON: dataset, layout, schema, compression
   */
  public TaskWriter(byte[] plan, long number, String request) {
    writer = NativeWrite.begin(plan, number, request);
  }

  /**
   * Appends rows to a column.
   *
   * @param values elements as they lie in the file, the first {@code length} bytes
   * @param heap what variable-length values consist of, one after the other
   * @param ends where each of them ends in the heap, the first {@code objects}
   */
  public void append(int column, byte[] values, int length, byte[] heap, int[] ends, int objects) {
    NativeWrite.append(writer, column, values, length, heap, ends, objects);
  }

  /** Ends the subfile, brings it to the disk, and gives the fragment to commit. */
  public byte[] finish() {
    return NativeWrite.finish(writer);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      NativeWrite.close(writer);
    }
  }
}
