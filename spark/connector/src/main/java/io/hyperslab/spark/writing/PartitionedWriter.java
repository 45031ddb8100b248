package io.hyperslab.spark.writing;

import io.hyperslab.FileWrite;
import io.hyperslab.IoException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** Writes the rows of one task, which are sorted by the partition columns, into one file for each combination of values. */
final class PartitionedWriter implements DataWriter<InternalRow> {
  /** The files of one attempt. */
  static final class Message implements WriterCommitMessage {
    private static final long serialVersionUID = 1L;

    final List<String> files;

    Message(List<String> files) {
      this.files = new ArrayList<>(files);
    }
  }

  /** Creates the writers of tasks. Spark sends it to the executors. */
  static final class Factory implements DataWriterFactory {
    private static final long serialVersionUID = 1L;

    private final String staging;
    private final StructType schema;
    private final String request;
    private final boolean records;
    private final boolean nan;
    private final List<String> partitionColumns;

    Factory(
        String staging,
        StructType schema,
        String request,
        boolean records,
        boolean nan,
        List<String> partitionColumns) {
      this.staging = staging;
      this.schema = schema;
      this.request = request;
      this.records = records;
      this.nan = nan;
      this.partitionColumns = new ArrayList<>(partitionColumns);
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task) {
      return new PartitionedWriter(this, partition, task);
    }
  }

  private final Factory factory;
  private final int partition;
  /** The folder of this attempt. */
  private final Path attempt;

  private final String fileName;
  private final List<String> files = new ArrayList<>();

  private String[] current;
  private Path target;
  private FileWrite file;
  private RowWriter writer;

  private PartitionedWriter(Factory factory, int partition, long task) {
    this.factory = factory;
    this.partition = partition;
    attempt = Paths.get(factory.staging, "attempt-" + task);
    // Unique among all writes into the folder, as the hidden folder's name is.
    String write =
        Paths.get(factory.staging).getFileName().toString().replace(PartitionedBatch.WRITING, "");
    fileName = String.format("part-%05d-%s.h5", partition, write);
  }

  @Override
  public void write(InternalRow row) throws IOException {
    String[] values = new String[factory.partitionColumns.size()];
    for (int i = 0; i < values.length; i++) {
      int ordinal = factory.schema.length() + i;
      values[i] = row.isNullAt(ordinal) ? null : row.getUTF8String(ordinal).toString();
    }
    if (!Arrays.equals(values, current)) {
      finishFile();
      begin(values);
    }
    writer.write(row);
  }

  private void begin(String[] values) throws IOException {
    Path folder = attempt;
    create(folder);
    for (int i = 0; i < values.length; i++) {
      folder = folder.resolve(
          ExternalCatalogUtils.getPartitionPathString(factory.partitionColumns.get(i), values[i]));
      create(folder);
    }
    target = folder.resolve(fileName);
    file = new FileWrite(folder.resolve("." + fileName).toString(), "create");
    file.begin();
    writer = new RowWriter(
        file.plan(), 0, factory.schema, factory.request, factory.records, factory.nan);
    current = values;
  }

  /** Creates a folder in one that must exist: the driver renames the hidden folder when it aborts the write. */
  private void create(Path folder) throws IOException {
    try {
      Files.createDirectory(folder);
    } catch (FileAlreadyExistsException error) {
      // An earlier file of this task has made it.
    } catch (NoSuchFileException error) {
      throw new IoException("the write was aborted", factory.staging, null, null);
    }
  }

  private void finishFile() {
    if (writer == null) {
      return;
    }
    byte[] fragment = ((RowWriter.Message) writer.commit()).fragment;
    writer.close();
    writer = null;
    try {
      file.commit(new byte[][] {fragment});
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted before the write was committed", error);
    }
    // The same values may come again only if texts of different values are equal.
    if (Files.exists(target)) {
      target = target.resolveSibling(fileName.replace(".h5", "-" + files.size() + ".h5"));
    }
    file.moveTo(target.toString());
    files.add(target.toString());
  }

  @Override
  public WriterCommitMessage commit() {
    finishFile();
    return new Message(files);
  }

  @Override
  public void abort() {
    close();
  }

  @Override
  public void close() {
    if (writer != null) {
      writer.close();
      writer = null;
    }
  }
}
