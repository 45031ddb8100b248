package io.hyperslab;

/** Lists the contents of a file. */
public final class NativeFile {
  static {
    NativeLibrary.load();
  }

  private NativeFile() {}

  /**
   * Returns the members of a group as a JSON array of {@code {"name": …, "kind": …, "shape": …, "type": …, "refusal": …}}.
   *
   * @param file path of the file
   * @param group path of the group in the file
   * @param sessionOptions JSON: threads, limits, path policy
   * @throws NotFoundException if the file or the group does not exist
   */
  public static native String members(String file, String group, String sessionOptions);

  /**
   * Returns all objects of a file as a JSON array of {@code {"path": …, "kind": …, "shape": …, "type": …, "refusal": …,
   * "attributes": [[name, value], …]}}.
   *
   * @param file path of the file
   * @param sessionOptions JSON: threads, limits, path policy
   * @throws NotFoundException if the file does not exist
   */
  public static native String objects(String file, String sessionOptions);
}
