package io.hyperslab;

/** A correct file or request that needs something that is not done; the message names it. */
public final class UnsupportedException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public UnsupportedException(String reason, String file, String object, Long offset) {
    super("Unsupported", reason, file, object, offset);
  }

  public UnsupportedException(String reason) {
    this(reason, null, null, null);
  }
}
