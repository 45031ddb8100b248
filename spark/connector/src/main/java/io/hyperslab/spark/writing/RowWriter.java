package io.hyperslab.spark.writing;

import io.hyperslab.TaskWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Writes the rows of one partition into a subfile. Each attempt at a task has its own subfile. */
final class RowWriter implements DataWriter<InternalRow> {
  private static final int BATCH_ROWS = 1 << 16;
  private static final int BATCH_BYTES = 8 << 20;

  /** The fragment for the driver to commit; null for a task without rows. */
  static final class Message implements WriterCommitMessage {
    private static final long serialVersionUID = 1L;

    final byte[] fragment;

    Message(byte[] fragment) {
      this.fragment = fragment;
    }
  }

  private final TaskWriter writer;
  private final int partition;
  private final Encoder[] encoders;
  /** One buffer per column; in the records layout, one for all columns. */
  private final Bytes[] values;

  private final Heap[] heaps;
  private final boolean records;
  private long rows;
  private int pending;

  RowWriter(
      byte[] plan, int partition, StructType schema, String request, boolean records, boolean nan) {
    this(plan, partition, schema, request, records, nan, null);
  }

  /** @param folder local folder for the subfile of a plan of a Hadoop file system; null for the place that the plan says */
  RowWriter(
      byte[] plan,
      int partition,
      StructType schema,
      String request,
      boolean records,
      boolean nan,
      String folder) {
    this.partition = partition;
    this.records = records;
    StructField[] fields = schema.fields();
    encoders = new Encoder[fields.length];
    for (int i = 0; i < fields.length; i++) {
      encoders[i] = Encoder.of(fields[i].name(), fields[i].dataType(), nan);
    }
    int datasets = records ? 1 : fields.length;
    values = new Bytes[datasets];
    heaps = new Heap[datasets];
    for (int i = 0; i < datasets; i++) {
      values[i] = new Bytes();
      heaps[i] = new Heap();
    }
    writer = folder == null
        ? new TaskWriter(plan, partition, request)
        : new TaskWriter(plan, partition, request, folder);
  }

  @Override
  public void write(InternalRow row) {
    int bytes = 0;
    for (int i = 0; i < encoders.length; i++) {
      int dataset = records ? 0 : i;
      encoders[i].put(row, i, values[dataset], heaps[dataset]);
      bytes = Math.max(bytes, Math.max(values[dataset].length, heaps[dataset].bytes.length));
    }
    rows++;
    if (++pending >= BATCH_ROWS || bytes >= BATCH_BYTES) {
      flush();
    }
  }

  private void flush() {
    for (int dataset = 0; dataset < values.length && pending > 0; dataset++) {
      Heap heap = heaps[dataset];
      writer.append(
          dataset,
          values[dataset].array,
          values[dataset].length,
          heap.bytes.array,
          heap.ends,
          heap.objects);
      values[dataset].length = 0;
      heap.clear();
    }
    pending = 0;
  }

  @Override
  public WriterCommitMessage commit() {
    flush();
    // The first task defines the datasets even if there are no rows.
    return new Message(rows > 0 || partition == 0 ? writer.finish() : null);
  }

  @Override
  public void abort() {
    writer.close();
  }

  @Override
  public void close() {
    writer.close();
  }
}
