package io.hyperslab;

/** What is in a file. */
public final class NativeFile {
  static {
    NativeLibrary.load();
  }

  private NativeFile() {}

  /** The members of a group: JSON, an array of {@code {"name": …, "kind": …, "shape": …, "type": …}}. */
  public static native String members(String file, String group, String sessionOptions);

  /** All objects: JSON, an array of {@code {"path": …, "kind": …, "shape": …, "type": …, "attributes": [[name, value]]}}. */
  public static native String objects(String file, String sessionOptions);
}
