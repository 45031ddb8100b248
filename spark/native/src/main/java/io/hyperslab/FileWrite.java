package io.hyperslab;

/**
 * A file that many tasks write: planned and committed in one place. Until the commit, readers see what was there before;
 * after it, all of the new.
 */
public final class FileWrite {
  private static final long COMMIT_MILLISECONDS = 60_000;
  private static final long BETWEEN_MILLISECONDS = 100;

  private byte[] plan;

  /** @param mode {@code create} (there must be no file), {@code overwrite} or {@code append} */
  public FileWrite(String path, String mode) {
    this(path, mode, null);
  }

  /**
   * @param mode {@code create} (there must be no file), {@code overwrite} or {@code append}
   * @param only a dataset or group; an overwrite that would remove anything else from the file is a {@link
   *     ConflictException}. Null: the whole file may be replaced.
   */
  public FileWrite(String path, String mode, String only) {
    plan = NativeWrite.plan(path, mode, only);
  }

  /** Refuses what cannot be written; touches nothing. */
  public static void check(String request) {
    NativeWrite.check(request);
  }

  /**
   * Makes the folder that tasks write into. No task of {@link #plan} makes it from now on: {@link #abort} may be called
   * while tasks are at work, and those that come late fail with a {@link CancelledException}.
   */
  public void begin() {
    plan = NativeWrite.beginPlan(plan);
  }

  /** Plain data, for {@link TaskWriter}s in other processes. */
  public byte[] plan() {
    return plan;
  }

  /**
   * Makes visible what the tasks have written, one attempt of each task. Waits for another process's commit that is
   * under way; throws a {@link ConflictException} if that commit changed the file.
   */
  public void commit(byte[][] fragments) throws InterruptedException {
    long deadline = System.currentTimeMillis() + COMMIT_MILLISECONDS;
    while (!NativeWrite.commit(plan, fragments)) {
      if (System.currentTimeMillis() > deadline) {
        throw new ConflictException(
            "somebody else has been committing to this file for a minute", null, null, null);
      }
      Thread.sleep(BETWEEN_MILLISECONDS);
    }
  }

  /** Removes what the tasks have written. What was committed is refused. */
  public void abort() {
    NativeWrite.abort(plan);
  }
}
