package io.hyperslab;

/** What is in a file. */
public final class NativeFile {
  static {
    NativeLibrary.load();
  }

  private NativeFile() {}

  /** The members of a group: JSON, an array of {@code {"name": …, "kind": …, "shape": …, "type": …}}. */
  public static native String members(String file, String group, String sessionOptions);
}
