package io.hyperslab;

/** Structures of the Arrow C Data interface that the native library exported. */
public final class NativeBatch {
  static {
    NativeLibrary.load();
  }

  private NativeBatch() {}

  /** Frees the structure; an {@link InvalidInputException} the second time. */
  public static native void release(long address);

  /** How many structures are not released yet. */
  public static native int live();

  /** Panics in the native library, so that a test sees an exception come of it. */
  static native void panic();
}
