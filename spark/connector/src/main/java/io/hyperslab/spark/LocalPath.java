package io.hyperslab.spark;

/** Converts paths and file URIs to local paths. */
public final class LocalPath {
  private LocalPath() {}

  /**
   * Returns the absolute local path of a path or a file URI.
   *
   * @param path a path or a URI such as {@code file:///data/a.h5}
   * @throws io.hyperslab.InvalidInputException if the URI names a host
   * @throws io.hyperslab.UnsupportedException if the URI has another scheme
   */
  public static String of(String path) {
    return Files.local(path).toString();
  }
}
