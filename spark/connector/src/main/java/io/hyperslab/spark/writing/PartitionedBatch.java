package io.hyperslab.spark.writing;

import io.hyperslab.ConflictException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.IoException;
import io.hyperslab.spark.ExistingTable;
import io.hyperslab.spark.HiddenNames;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/**
 * The driver's side of a write with {@code partitionBy}: each task writes a file for each of its combinations of values into a
 * hidden folder, and the driver moves the files of all tasks to {@code name=value/…} of the target folder.
 */
final class PartitionedBatch implements BatchWrite {
  static final String WRITING = "_writing-";

  private final Path folder;
  private final Path staging;
  private final boolean overwrites;
  private final StructType schema;
  private final WriteOptions options;
  private final String request;
  private final List<String> partitionColumns;

  /** @param schema the columns of the files. The rows have the texts of the partition columns after them, and are sorted by these. */
  PartitionedBatch(WriteOptions options, StructType schema, String request) {
    this.options = options;
    this.schema = schema;
    folder = Paths.get(options.path());
    // Readers skip names that begin with "_".
    staging = folder.resolve(WRITING + UUID.randomUUID());
    overwrites = options.mode().equals("overwrite");
    partitionColumns = options.partitionColumns();
    check();
    boolean isKept = !overwrites || options.replacedFolders() != null;
    ExistingTable existing = isKept ? new ExistingTable(folder.toString()) : null;
    this.request = isKept && existing.hasFiles() ? requestFor(existing) : request;
  }

  /** Refuses folders that readers would skip, and a file in the place of the folder. */
  private void check() {
    for (String name : partitionColumns) {
      if (HiddenNames.isHidden(name + "=")) {
        throw new InvalidInputException("partitionBy(\"" + name
            + "\") would write folders that readers skip: rename the column");
      }
    }
    if (Files.exists(folder, LinkOption.NOFOLLOW_LINKS) && !Files.isDirectory(folder)) {
      throw new ConflictException(
          "partitionBy writes a folder, but there is a file", folder.toString(), null, null);
    }
  }

  /** The request for files that form a table with those that stay. */
  private String requestFor(ExistingTable existing) {
    if (!existing.partitionColumns().equals(partitionColumns)) {
      throw new ConflictException(
          "the rows are partitioned by " + partitionColumns + ", and the files by "
              + existing.partitionColumns(),
          existing.anyFile(),
          null,
          null);
    }
    return AppendedColumns.request(options, schema, existing.anyFile(), "{}");
  }

  /** The names of the folders: from {@code partitionBy}, or from the folders to which files are added. */
  static List<String> folderNames(List<String> partitionColumns, String folder, boolean isAdded) {
    ExistingTable existing = isAdded ? new ExistingTable(folder) : null;
    if (existing == null || !existing.hasFiles()) {
      return partitionColumns;
    }
    List<String> names = existing.partitionColumns();
    return partitionColumns.stream()
        .map(given ->
            names.stream().filter(name -> isSame(name, given)).findFirst().orElse(given))
        .collect(Collectors.toList());
  }

  /** Whether two names refer to one column by Spark's rule. */
  private static boolean isSame(String a, String b) {
    return SQLConf.get().caseSensitiveAnalysis() ? a.equals(b) : a.equalsIgnoreCase(b);
  }

  /** The rows with the partition columns as texts at the end, each Spark partition sorted by them. */
  static Dataset<Row> withTexts(Dataset<Row> data, List<String> partitionColumns) {
    List<Column> columns = new ArrayList<>();
    for (String name : data.columns()) {
      if (partitionColumns.stream().noneMatch(partition -> isSame(partition, name))) {
        columns.add(column(name));
      }
    }
    if (columns.isEmpty()) {
      throw new InvalidInputException("partitionBy cannot name all columns");
    }
    List<Column> texts = new ArrayList<>();
    for (String name : partitionColumns) {
      if (Arrays.stream(data.columns()).noneMatch(column -> isSame(column, name))) {
        throw new InvalidInputException("partitionBy names the column \"" + name
            + "\", which is not one of " + String.join(", ", data.columns()));
      }
      columns.add(column(name).cast("string").as(name));
      texts.add(column(name));
    }
    return data.select(columns.toArray(new Column[0]))
        .sortWithinPartitions(texts.toArray(new Column[0]));
  }

  private static Column column(String name) {
    return functions.col("`" + name.replace("`", "``") + "`");
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    boolean records = options.records();
    boolean nullsAreNan = options.nullsAreNan();
    FolderCommit.finish(folder);
    if (overwrites) {
      replaced();
    }
    try {
      Leftovers.remove(
          folder,
          member -> member.getFileName().toString().matches("_(writing|removing|committed)-.*")
              && !FolderCommit.isUnfinished(member));
      Files.createDirectories(staging);
    } catch (IOException error) {
      throw failed(error);
    }
    return new PartitionedWriter.Factory(
        staging.toString(), schema, request, records, nullsAreNan, partitionColumns);
  }

  /** The folders of partitions that an overwrite removes; anything else in the folder is a conflict. */
  private List<Path> replaced() {
    if (!Files.exists(folder)) {
      return new ArrayList<>();
    }
    if (options.replacedFolders() != null) {
      return options.replacedFolders().stream()
          .map(Paths::get)
          .filter(path -> Files.exists(path))
          .collect(Collectors.toList());
    }
    try (Stream<Path> members = Files.list(folder)) {
      List<Path> found = members
          .filter(member -> !HiddenNames.isHidden(member.getFileName().toString()))
          .collect(Collectors.toList());
      for (Path member : found) {
        if (!Files.isDirectory(member) || !member.getFileName().toString().contains("=")) {
          throw new ConflictException(
              "overwriting a folder that has more than folders called name=value would lose it: save to another folder",
              member.toString(),
              null,
              null);
        }
      }
      return found;
    } catch (IOException error) {
      throw failed(error);
    }
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    List<Path> added = new ArrayList<>();
    for (WriterCommitMessage message : messages) {
      if (message != null) {
        ((PartitionedWriter.Message) message).files.forEach(file -> added.add(Paths.get(file)));
      }
    }
    try {
      FolderCommit.commit(folder, staging, overwrites ? replaced() : new ArrayList<>(), added);
    } catch (IOException error) {
      throw failed(error);
    }
  }

  @Override
  public void abort(WriterCommitMessage[] messages) {
    try {
      FolderCommit.remove(folder, staging);
      Files.delete(folder);
    } catch (DirectoryNotEmptyException | NoSuchFileException error) {
      // The folder has other files, or is gone.
    } catch (IOException error) {
      throw failed(error);
    }
  }

  private IoException failed(IOException error) {
    return new IoException(
        "cannot write the folder of partitions: " + error, folder.toString(), null, null);
  }
}
