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
   * Compares the columns of a request with the columns of a file's table, to which rows will be added.
   *
   * @param file path or address of a file that exists
   * @param request JSON: dataset, layout, schema, compression
   * @param isCaseSensitive whether names that differ in case are different columns
   * @param sessionOptions JSON: threads, limits, file systems
   * @return JSON list of the names that the columns have in the file, in the order of the request
   * @throws ConflictException if the request or the file lacks a column, if a column has another type, or if those of the file
   *     have different lengths
   */
  public static String namesInFile(
      String file, String request, boolean isCaseSensitive, String sessionOptions) {
    return NativeWrite.namesInFile(file, request, isCaseSensitive, sessionOptions);
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
   * Checks that one object of an existing file can be replaced.
   *
   * @throws UnsupportedException if the file is the master of subfiles
   */
  public static void checkReplaceable(String file) {
    NativeWrite.checkReplaceable(file);
  }

  /**
   * After {@link #commit}, makes the file and its subfiles one ordinary file at another path.
   *
   * @param target a path where no file is, on the same file system
   * @throws ConflictException if the target exists
   */
  public void moveTo(String target) {
    NativeWrite.move(path, target, null);
  }

  /**
   * After {@link #commit}, puts an object of this file into the place of the one in another file, which may lack it, and removes
   * this file. Everything else in the other file stays. Readers of it see the state before or after the change.
   *
   * @param target path of the other file
   * @param object path of the dataset or group
   * @throws ConflictException if another process has the other file open
   * @throws UnsupportedException if the other file cannot be edited
   */
  public void moveInto(String target, String object) {
    NativeWrite.move(path, target, object);
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
