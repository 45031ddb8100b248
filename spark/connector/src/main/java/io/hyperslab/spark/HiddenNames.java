package io.hyperslab.spark;

/** Which names of files and folders readers skip. Writers ask the same question, to replace exactly what readers see. */
public final class HiddenNames {
  private HiddenNames() {}

  /**
   * Whether readers skip a file or folder of this name, by the rule of Spark's own sources: names that begin with {@code _} or
   * {@code .}, except partitions such as {@code _year=2024}, and copies that are not complete.
   */
  public static boolean isHidden(String name) {
    return name.startsWith(".")
        || (name.startsWith("_") && !name.contains("="))
        || name.endsWith("._COPYING_");
  }
}
