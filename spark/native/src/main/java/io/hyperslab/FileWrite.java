package io.hyperslab;

/**
 * A file written by many tasks, planned and committed on the driver. Readers see the old contents until {@link #commit},
 * and the complete new contents after it.
 *
 * <pre>{@code
 * FileWrite write = new FileWrite("/data/out.h5", "create");
 * write.begin();
 * byte[] plan = write.plan();
 * // In each task, with its index and the JSON request:
 * try (TaskWriter task = new TaskWriter(plan, taskIndex, request)) {
 *   task.append(0, values, values.length, new byte[0], new int[0], 0);
 *   fragments[taskIndex] = task.finish();
 * }
 * // On the driver, with the fragments of all tasks:
 * write.commit(fragments);
 * }</pre>
 */
public final class FileWrite {
  private static final long COMMIT_TIMEOUT_MILLISECONDS = 60_000;
  private static final long COMMIT_RETRY_MILLISECONDS = 100;

  private final String path;
  private byte[] plan;

  /**
   * Plans a write that may replace the whole file.
   *
   * @param path path of the file
   * @param mode {@code create} (the file must not exist), {@code overwrite} or {@code append}
   * @throws ConflictException if the mode is {@code create} and the file exists
   * @throws InvalidInputException if the mode is unknown
   * @throws UnsupportedException if the mode is {@code append} and the file was not written by such a plan
   */
  public FileWrite(String path, String mode) {
    this(path, mode, null);
  }

  /**
   * Plans a write.
   *
   * @param path path of the file
   * @param mode {@code create} (the file must not exist), {@code overwrite} or {@code append}
   * @param replaceable path of the only dataset or group that an overwrite may remove from the file; null if it may
   *     replace the whole file
   * @throws ConflictException if the mode is {@code create} and the file exists, or if an overwrite would remove more
   *     than {@code replaceable}
   * @throws InvalidInputException if the mode is unknown
   */
  public FileWrite(String path, String mode, String replaceable) {
    this.path = path;
    plan = NativeWrite.plan(path, mode, replaceable);
  }

  /**
   * Checks that a request can be written, without touching any file.
   *
   * @param request JSON: dataset, layout, schema, compression
   * @throws InvalidInputException if the request is malformed
   * @throws UnsupportedException if HDF5 cannot store a column's type
   */
  public static void check(String request) {
    NativeWrite.check(request);
  }

  /**
   * Creates the folder that tasks write into. Tasks of {@link #plan} do not create it from now on, so {@link #abort} can
   * be called while tasks are running: a task that starts later fails with a {@link CancelledException}.
   */
  public void begin() {
    plan = NativeWrite.beginPlan(plan);
  }

  /** Returns the serialized plan, for {@link TaskWriter}s in other processes. */
  public byte[] plan() {
    return plan;
  }

  /**
   * Publishes what the tasks wrote. Waits up to 60 s while another process is committing to the file.
   *
   * @param fragments the results of {@link TaskWriter#finish}, one per task; of a task with several attempts, only one
   * @throws ConflictException if another commit changed the file or takes more than 60 s
   * @throws InterruptedException if the thread is interrupted while waiting
   */
  public void commit(byte[][] fragments) throws InterruptedException {
    long deadline = System.currentTimeMillis() + COMMIT_TIMEOUT_MILLISECONDS;
    while (!NativeWrite.commit(plan, fragments)) {
      if (System.currentTimeMillis() > deadline) {
        throw new ConflictException(
            "another process has been committing to this file for 60 s: try again later",
            path,
            null,
            null);
      }
      Thread.sleep(COMMIT_RETRY_MILLISECONDS);
    }
  }

  /**
   * Removes what the tasks wrote.
   *
   * @throws InvalidInputException if the write was committed
   */
  public void abort() {
    NativeWrite.abort(plan);
  }
}
