package io.hyperslab;

/**
 * Writes the rows of one task of a {@link FileWrite} into a subfile. Closing it without {@link #finish} removes the
 * subfile. See {@link FileWrite} for an example.
 */
public final class TaskWriter implements AutoCloseable {
  private final long writer;
  private boolean closed;

  /**
   * Begins an attempt at a task.
   *
   * @param plan the result of {@link FileWrite#plan}
   * @param taskIndex position of the task: the file has the rows of the tasks in this order; all attempts at a task have
   *     the same index
   * @param request JSON: dataset, layout, schema, compression
   * @throws CancelledException if the write was aborted
   */
  public TaskWriter(byte[] plan, long taskIndex, String request) {
    writer = NativeWrite.begin(plan, taskIndex, request);
  }

  /**
   * Begins an attempt at a task of a {@link StagedWrite}.
   *
   * @param plan the result of {@link StagedWrite#plan}
   * @param taskIndex position of the task: the file has the rows of the tasks in this order; all attempts at a task have
   *     the same index
   * @param request JSON: dataset, layout, schema, compression
   * @param folder local folder of this attempt, in which the subfile is written
   */
  public TaskWriter(byte[] plan, long taskIndex, String request, String folder) {
    writer = NativeStagedWrite.begin(plan, taskIndex, request, folder);
  }

  /**
   * Appends rows to a column.
   *
   * @param column index of the dataset in the request
   * @param values elements in their encoding in the file; a variable-length element refers to a value in {@code heap} by
   *     its position, counted from 1
   * @param length number of bytes of {@code values} to append
   * @param heap the variable-length values, one after the other
   * @param ends end offset of each variable-length value in {@code heap}
   * @param objects number of variable-length values in {@code ends}
   * @throws InvalidInputException if {@code length} is not a multiple of the element size
   */
  public void append(int column, byte[] values, int length, byte[] heap, int[] ends, int objects) {
    NativeWrite.append(writer, column, values, length, heap, ends, objects);
  }

  /**
   * Completes the subfile and flushes it to disk.
   *
   * @return the fragment for {@link FileWrite#commit}
   * @throws InvalidInputException if the task is already finished
   */
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
