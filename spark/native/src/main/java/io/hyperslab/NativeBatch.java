package io.hyperslab;

/** Releases the structures of the Arrow C Data interface that the native library exported. */
public final class NativeBatch {
  static {
    NativeLibrary.load();
  }

  private NativeBatch() {}

  /**
   * Frees a structure.
   *
   * @param address address of the {@code ArrowArray} or {@code ArrowSchema}
   * @throws InvalidInputException if no structure is exported at the address, for example because it was released before
   */
  public static native void release(long address);

  /** Returns the number of structures that are not released yet. */
  public static native int live();

  /** Panics in the native library, to test that a panic becomes an exception. */
  static native void panic();
}
