package io.hyperslab;

/** A request that makes no sense: a bad option or predicate, files that do not make one table. */
public final class InvalidInputException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public InvalidInputException(String reason, String file, String object, Long offset) {
    super("InvalidInput", reason, file, object, offset);
  }

  public InvalidInputException(String reason) {
    this(reason, null, null, null);
  }
}
