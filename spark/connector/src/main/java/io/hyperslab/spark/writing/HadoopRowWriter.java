package io.hyperslab.spark.writing;

import io.hyperslab.CancelledException;
import io.hyperslab.spark.hadoop.HadoopFiles;
import io.hyperslab.spark.hadoop.HadoopOutput;
import io.hyperslab.spark.hadoop.LocalFolder;
import java.nio.file.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** Writes the rows of one partition into a local subfile, and copies it to a Hadoop file system when it is complete. */
final class HadoopRowWriter implements DataWriter<InternalRow> {
  /** Creates the writers of tasks. Spark sends it to the executors. */
  static final class Factory implements DataWriterFactory {
    private static final long serialVersionUID = 1L;

    private final HadoopFiles files;
    private final String folder;
    private final byte[] plan;
    private final StructType schema;
    private final String request;
    private final boolean records;
    private final boolean nan;

    /** @param folder address of the folder of this write */
    Factory(
        HadoopFiles files,
        String folder,
        byte[] plan,
        StructType schema,
        String request,
        boolean records,
        boolean nan) {
      this.files = files;
      this.folder = folder;
      this.plan = plan;
      this.schema = schema;
      this.request = request;
      this.records = records;
      this.nan = nan;
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task) {
      return new HadoopRowWriter(this, partition);
    }
  }

  private final HadoopOutput output;
  private final String folder;
  private final LocalFolder local;
  private final RowWriter writer;

  private HadoopRowWriter(Factory factory, int partition) {
    output = new HadoopOutput(factory.files);
    folder = factory.folder;
    requireBegun();
    local = new LocalFolder();
    try {
      writer = new RowWriter(
          factory.plan,
          partition,
          factory.schema,
          factory.request,
          factory.records,
          factory.nan,
          local.path.toString());
    } catch (RuntimeException error) {
      local.close();
      throw error;
    }
  }

  private void requireBegun() {
    if (!output.exists(folder + "/" + HadoopBatch.BEGUN)) {
      throw new CancelledException(
          "the write was aborted, or it is committed already", folder, null, null);
    }
  }

  @Override
  public void write(InternalRow row) {
    writer.write(row);
  }

  /** Copies the subfile, whose name no other attempt has. Spark lets one attempt at each task commit. */
  @Override
  public WriterCommitMessage commit() {
    WriterCommitMessage message = writer.commit();
    if (((RowWriter.Message) message).fragment == null) {
      return message;
    }
    for (Path subfile : local.files(".h5")) {
      String address = folder + "/" + subfile.getFileName();
      output.upload(subfile, address);
      try {
        requireBegun();
      } catch (CancelledException error) {
        // The write has ended: remove what was uploaded.
        output.remove(address);
        throw error;
      }
    }
    return message;
  }

  @Override
  public void abort() {
    close();
  }

  @Override
  public void close() {
    writer.close();
    local.close();
  }
}
