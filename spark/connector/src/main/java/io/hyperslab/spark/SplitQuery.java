package io.hyperslab.spark;

import java.io.Serializable;

/** What a task reads of each split, as JSON for {@link io.hyperslab.SplitReader}. */
final class SplitQuery implements Serializable {
  private static final long serialVersionUID = 1L;

  /** All rows. */
  static final SplitQuery ROWS = new SplitQuery("[]", "null", "null");

  /** The aggregates to compute instead of returning rows; an empty list for none. */
  final String aggregates;
  /** The columns by which the aggregates are grouped; {@code null} for no groups. */
  final String keys;
  /** The first rows in a sort order; {@code null} for all rows. */
  final String top;

  SplitQuery(String aggregates, String keys, String top) {
    this.aggregates = aggregates;
    this.keys = keys;
    this.top = top;
  }

  /** Whether a partition without rows has a row of aggregates. */
  boolean isOneRow() {
    return !aggregates.equals(ROWS.aggregates) && keys.equals(ROWS.keys);
  }
}
