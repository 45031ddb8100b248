package io.hyperslab;

/** A fault of Hyperslab's own. */
public final class InternalException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public InternalException(String reason, String file, String object, Long offset) {
    super("Internal", reason, file, object, offset);
  }

  public InternalException(String reason) {
    this(reason, null, null, null);
  }
}
