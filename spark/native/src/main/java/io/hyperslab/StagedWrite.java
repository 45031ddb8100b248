package io.hyperslab;

/**
 * A file written by many tasks on a file system that only Java can write to. Tasks and the driver write local files, and the
 * program copies them: the subfiles of all tasks first, then the master, which makes them visible.
 *
 * <pre>{@code
 * StagedWrite write = new StagedWrite("/tmp/driver", "out.h5");
 * byte[] plan = write.plan();
 * // In each task; its subfile, if it has one, is then below /tmp/task/out.h5.d:
 * try (TaskWriter task = new TaskWriter(plan, taskIndex, request, "/tmp/task")) {
 *   task.append(0, values, values.length, new byte[0], new int[0], 0);
 *   fragments[taskIndex] = task.finish();
 * }
 * // On the driver, with the fragments of all tasks:
 * byte[] record = write.stage(fragments, null, null, "/tmp/driver/master.h5");
 * }</pre>
 */
public final class StagedWrite {
  private final byte[] plan;

  /**
   * Plans a write.
   *
   * @param folder a local folder that exists
   * @param name name of the file
   * @throws ConflictException if the local folder has a file of this name
   */
  public StagedWrite(String folder, String name) {
    plan = NativeStagedWrite.plan(folder, name);
  }

  /** Returns the serialized plan, for {@link TaskWriter}s in other processes. */
  public byte[] plan() {
    return plan;
  }

  /** Returns the path of the folder with the subfiles, relative to the folder of the file. */
  public String subfolder() {
    return NativeStagedWrite.subfolder(plan);
  }

  /**
   * Writes the master to a local file.
   *
   * @param fragments the results of {@link TaskWriter#finish}, one per task; of a task with several attempts, only one
   * @param replaced commit of the master that the new one replaces, or null
   * @param appended local copy of the master whose objects the new one has, too, or null
   * @param master path of the local file
   * @return the record of the commit, JSON with the subfiles and their lengths; it belongs next to them as {@code commit.json}
   * @throws ConflictException if tasks contradict each other or the file that they append to
   * @throws UnsupportedException if the file that they append to was not written by a plan
   */
  public byte[] stage(byte[][] fragments, String replaced, String appended, String master) {
    return NativeStagedWrite.stage(plan, fragments, replaced, appended, master);
  }

  /**
   * Returns the commit that a file names, or null if it was not written by a plan.
   *
   * @param file path or address
   * @param sessionOptions JSON: threads, limits, file systems
   * @throws NotFoundException if the file does not exist
   * @throws CorruptException if it is damaged
   * @throws InvalidInputException if it is not an HDF5 or netCDF file
   * @throws UnsupportedException if it has what is not read
   */
  public static String commitOf(String file, String sessionOptions) {
    return NativeStagedWrite.commitOf(file, sessionOptions);
  }

  /**
   * Checks that replacing a file removes nothing but one of its objects.
   *
   * @param file path or address
   * @param replaceable path of the dataset or group that may be removed
   * @param sessionOptions JSON: threads, limits, file systems
   * @throws ConflictException if the file has anything else, or cannot be read
   */
  public static void checkLosses(String file, String replaceable, String sessionOptions) {
    NativeStagedWrite.checkLosses(file, replaceable, sessionOptions);
  }
}
