package io.hyperslab;

/** The operating system said no. */
public final class IoException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public IoException(String reason, String file, String object, Long offset) {
    super("Io", reason, file, object, offset);
  }

  public IoException(String reason) {
    this(reason, null, null, null);
  }
}
