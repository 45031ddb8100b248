package io.hyperslab.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;

/** The serialized splits that one task reads. */
final class SplitPartition implements InputPartition {
  private static final long serialVersionUID = 5L;

  final byte[][] splits;
  private final String[] hosts;
  /** The file of each split; null if not needed. */
  private final String[] files;
  /** The dataset or group of each split, for {@link FileMetadata}; null if not needed, or until the task plans. */
  private String[] datasets;
  /** For each split, the values of the partition columns in Spark's internal representation; null if there are none. */
  private final Object[][] constants;
  /** For each split, the part that {@link FileCheck} reads first; null if files are not checked. */
  private final String[] checks;
  /** The request for the rows of one file that the task plans itself; null if the driver planned the splits. */
  private final String request;

  /** No splits: the task returns no rows, or the aggregates over no rows. */
  static SplitPartition empty() {
    return new SplitPartition(new byte[0][]);
  }

  SplitPartition(byte[][] splits) {
    this(splits, new String[0], null, null, null, null);
  }

  SplitPartition(
      byte[][] splits,
      String[] hosts,
      String[] files,
      String[] datasets,
      Object[][] constants,
      String[] checks) {
    this(splits, hosts, files, datasets, constants, checks, null);
  }

  /** Rows of a file that may grow before the task reads them, so that the task plans when it begins. */
  SplitPartition(String request, String file, Object[][] constants, String check) {
    this(
        new byte[0][],
        new String[0],
        new String[] {file},
        null,
        constants,
        check == null ? null : new String[] {check},
        request);
  }

  private SplitPartition(
      byte[][] splits,
      String[] hosts,
      String[] files,
      String[] datasets,
      Object[][] constants,
      String[] checks,
      String request) {
    this.datasets = datasets;
    this.splits = splits;
    this.hosts = hosts;
    this.files = files;
    this.constants = constants;
    this.checks = checks;
    this.request = request;
  }

  /** The splits, which are planned now if the driver did not plan them. */
  byte[][] plan() {
    if (request == null) {
      return splits;
    }
    byte[][] answer = Watch.planning(planning -> planning.split(request));
    List<String> planned = new ArrayList<>();
    Description.header(answer).get("partitions").forEach(part -> part.get("splitDatasets")
        .forEach(name -> planned.add(name.asText())));
    datasets = planned.toArray(new String[0]);
    return Arrays.copyOfRange(answer, 1, answer.length);
  }

  /** Whether the task plans. */
  boolean isPlannedByTask() {
    return request != null;
  }

  /** The file of a split; null if not needed. */
  String file(int split) {
    return files == null ? null : files[isPlannedByTask() ? 0 : split];
  }

  /** The dataset or group of a split, which {@link FileMetadata} shows. */
  String dataset(int split) {
    return datasets[split];
  }

  /** The part that {@link FileCheck} reads before a split; null if files are not checked. */
  String check(int split) {
    return checks == null ? null : checks[isPlannedByTask() ? 0 : split];
  }

  /** The values of the partition columns for a split. */
  Object[] constants(int split) {
    return constants == null ? new Object[0] : constants[isPlannedByTask() ? 0 : split];
  }

  @Override
  public String[] preferredLocations() {
    return hosts;
  }
}
