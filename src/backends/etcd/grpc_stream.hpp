// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/grpc_link.hpp"

#include <grpcpp/support/async_stream.h>

#include <memory>
#include <mutex>
#include <utility>

namespace interlock::inline v1::etcd_store {

/// Messages both ways, from open() until ended(). What it is told, it is told by one thread at a time.
template <class Request, class Response>
class grpc_stream : public std::enable_shared_from_this<grpc_stream<Request, Response>> {
 public:
  grpc_stream(const grpc_stream&) = delete;
  grpc_stream& operator=(const grpc_stream&) = delete;

  /// false: there is no way, and nothing will come.
  bool open(const char* method) {
    const auto along = from_->begin({this->shared_from_this(), &context_}, false);
    if (!along.channel) return false;
    way_ = along.number;
    self_ = this->shared_from_this();
    stream_ =
        grpc::TemplatedGenericStub<Request, Response>(along.channel).PrepareCall(&context_, method, &from_->answers());
    stream_->StartCall(static_cast<notice*>(&started_));
    return true;
  }
  void cancel() { context_.TryCancel(); }

 protected:
  explicit grpc_stream(std::shared_ptr<grpc_link> from) : from_(std::move(from)) {}
  ~grpc_stream() = default;

  virtual void opened() = 0;
  virtual void came(Response& what) = 0;
  virtual void written() {}
  virtual void ended(const grpc::Status& said) = 0;

  /// One at a time: the next one when written() was told. The message must last until then.
  void write(const Request& what) {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    ++writing_;
    stream_->Write(what, static_cast<notice*>(&wrote_));
  }
  [[nodiscard]] grpc_link& from() const noexcept { return *from_; }
  [[nodiscard]] std::uint64_t way() const noexcept { return way_; }

 private:
  struct step final : notice {
    step(grpc_stream& stream, void (grpc_stream::*then)(bool)) : of(stream), what(then) {}
    grpc_stream& of;
    void (grpc_stream::*what)(bool);
    void arrived(bool ok) noexcept override { (of.*what)(ok); }
  };

  void start_done(bool ok) {
    if (!ok) return finish();
    quietly([&] { opened(); });
    stream_->Read(&in_, static_cast<notice*>(&received_));
  }
  void read_done(bool ok) {
    if (!ok) return finish();
    quietly([&] { came(in_); });
    stream_->Read(&in_, static_cast<notice*>(&received_));
  }
  void write_done(bool ok) {
    {
      const std::lock_guard lock(mutex_);
      --writing_;
    }
    if (ok) quietly([&] { written(); });
    last();
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    stream_->Finish(&said_, static_cast<notice*>(&finished_));
  }
  void finish_done(bool) {
    over_ = true;
    last();
  }
  void last() {
    {
      const std::lock_guard lock(mutex_);
      if (!over_ || writing_ > 0) return;
    }
    auto self = std::move(self_);
    quietly([&] { ended(said_); });
    const auto from = from_;
    const auto* const context = &context_;
    self.reset();
    from->end(context);
  }
  template <class Work>
  static void quietly(Work work) noexcept {  // there is nobody to tell, and others are to be told
    try {
      work();
    } catch (...) {
    }
  }

  const std::shared_ptr<grpc_link> from_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>> stream_;
  step started_{*this, &grpc_stream::start_done}, received_{*this, &grpc_stream::read_done},
      wrote_{*this, &grpc_stream::write_done}, finished_{*this, &grpc_stream::finish_done};
  Response in_;
  grpc::Status said_;
  std::uint64_t way_ = 0;
  std::shared_ptr<grpc_stream> self_;  // until gRPC is done with it
  std::mutex mutex_;
  int writing_ = 0;
  bool ending_ = false, over_ = false;
};

}  // namespace interlock::inline v1::etcd_store
