package io.hyperslab;

/** Suggests names, by the rule of the whole library. */
public final class NativeNames {
  static {
    NativeLibrary.load();
  }

  private NativeNames() {}

  /**
   * Returns {@code ; nearest: a} for the candidate that is most similar to a name that was not found, or an empty text if
   * none is similar.
   */
  public static native String suggestion(String name, String[] candidates);
}
