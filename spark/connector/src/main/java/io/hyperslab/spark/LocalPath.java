package io.hyperslab.spark;

/** Paths of file systems that are mounted, for those outside of this package. */
public final class LocalPath {
  private LocalPath() {}

  /** The absolute path of a path or a file URI; {@link io.hyperslab.UnsupportedException} for other URIs. */
  public static String of(String path) {
    return Files.local(path).toString();
  }
}
