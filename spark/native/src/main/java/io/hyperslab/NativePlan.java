package io.hyperslab;

/** Native methods behind {@link Planning}; use that class instead. */
final class NativePlan {
  static {
    NativeLibrary.load();
  }

  private NativePlan() {}

  static native long begin();

  static native void cancel(long planning);

  static native void end(long planning);

  static native String describe(long planning, String request);

  static native byte[][] split(long planning, String request);

  static native long count(long planning, String request);
}
