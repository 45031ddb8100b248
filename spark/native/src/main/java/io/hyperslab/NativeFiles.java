package io.hyperslab;

/**
 * Registers file systems of Java. Requests and session options that have the key of one as {@code fileSystems} open all
 * addresses by it.
 */
public final class NativeFiles {
  static {
    NativeLibrary.load();
  }

  private NativeFiles() {}

  /**
   * Registers an opener for as long as the process runs. A key that is known keeps its opener.
   *
   * @param key name of the opener
   * @param opener opens files, from any thread
   */
  public static native void register(String key, FileOpener opener);

  /**
   * Returns whether a key is registered.
   *
   * @param key name of an opener
   */
  public static native boolean isRegistered(String key);
}
