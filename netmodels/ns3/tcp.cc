// Messages over TCP connections through a graph of point-to-point links, in ns-3; driven by worker.py.
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"

namespace artist
{
using namespace ns3;

// Set the default of an attribute; false if ns-3 knows no such attribute or value.
inline bool
attribute(const char* name, const char* value)
{
    return Config::SetDefaultFailSafe(name, StringValue(value));
}

// The queue of a host's link, in which acknowledgements go before data.
class AcknowledgementsFirst : public Queue<Packet>
{
  public:
    bool Enqueue(Ptr<Packet> packet) override
    {
        bool data = packet->GetSize() > MOST_HEADERS_BYTES;
        bool taken = DoEnqueue(data ? GetContainer().end() : std::next(GetContainer().begin(), m_first), packet);
        m_first += taken && !data;
        return taken;
    }

    Ptr<Packet> Dequeue() override
    {
        m_first -= m_first > 0;
        return DoDequeue(GetContainer().begin());
    }

    Ptr<Packet> Remove() override
    {
        m_first -= m_first > 0;
        return DoRemove(GetContainer().begin());
    }

    Ptr<const Packet> Peek() const override
    {
        return DoPeek(GetContainer().begin());
    }

  private:
    static constexpr uint32_t MOST_HEADERS_BYTES = 2 + 20 + 20; // PPP, IPv4, TCP without options: no data
    int m_first = 0; // acknowledgements that wait
};

class Messages
{
  public:
    // The first nodes are hosts, all others switches.
    Messages(int hosts, int nodes, uint32_t mtu_bytes)
        : m_hosts(hosts),
          m_mtu(mtu_bytes)
    {
        m_nodes.Create(nodes);
        InternetStackHelper stack;
        stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
        stack.SetIpv6StackInstall(false);
        stack.Install(m_nodes);
    }

    ~Messages()
    {
        Simulator::Destroy();
    }

    // Link two nodes, the lower one first, both directions alike. Queues take all that comes: nothing is lost.
    void join(int one, int other, uint64_t bits_per_s, uint64_t latency_ps)
    {
        Ptr<PointToPointChannel> channel = CreateObject<PointToPointChannel>();
        channel->SetAttribute("Delay", TimeValue(PicoSeconds(latency_ps)));
        for (int node : {one, other})
        {
            Ptr<PointToPointNetDevice> device = CreateObject<PointToPointNetDevice>();
            device->SetAddress(Mac48Address::Allocate());
            device->SetDataRate(DataRate(bits_per_s));
            device->SetMtu(m_mtu);
            Ptr<Queue<Packet>> queue = CreateObject<DropTailQueue<Packet>>();
            if (node < m_hosts)
            {
                queue = CreateObject<AcknowledgementsFirst>();
            }
            queue->SetMaxSize(QueueSize("4294967295p"));
            device->SetQueue(queue);
            m_nodes.Get(node)->AddDevice(device);
            device->Attach(channel);
            Ptr<Ipv4> ip = m_nodes.Get(node)->GetObject<Ipv4>();
            int interface = ip->AddInterface(device);
            ip->AddAddress(interface, Ipv4InterfaceAddress(Ipv4Address((11u << 24) + ++m_interfaces), Ipv4Mask::GetOnes()));
            ip->SetUp(interface);
            m_ends.push_back({node, interface});
        }
    }

    // Add a pair of hosts: a way for messages from one to the other, and one for what acknowledges them. A step
    // of a way is twice the number of a link, plus 1 for downwards. The hosts have addresses of their own, in a
    // subnet of their own.
    int pair(const std::vector<int>& there, const std::vector<int>& back)
    {
        uint32_t subnet = (10u << 24) + 4 * m_pairs.size();
        Ipv4Address sending(subnet + 1);
        Ipv4Address receiving(subnet + 2);
        m_pairs.push_back({address(there.front(), sending), address(back.front(), receiving), sending, receiving});
        route(there, receiving);
        route(back, sending);
        return m_pairs.size() - 1;
    }

    // Open a connection. The receiver's buffer is its window: no more is on the way at a time.
    int connect(int number_of_pair, uint32_t window_bytes)
    {
        const Pair& pair = m_pairs[number_of_pair];
        int number = m_open.size();
        InetSocketAddress from(pair.sending, 0);
        InetSocketAddress to(pair.receiving, 1024 + number % 60000);
        Ptr<Socket> listening = Socket::CreateSocket(m_nodes.Get(pair.receiver), TcpSocketFactory::GetTypeId());
        listening->SetAttribute("RcvBufSize", UintegerValue(window_bytes));
        listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                     Callback<void, Ptr<Socket>, const Address&>(
                                         [](Ptr<Socket> accepted, const Address&) {
                                             accepted->SetRecvCallback(Callback<void, Ptr<Socket>>(read));
                                         }));
        Ptr<Socket> sending = Socket::CreateSocket(m_nodes.Get(pair.sender), TcpSocketFactory::GetTypeId());
        sending->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(
            [this, number](Ptr<Socket>, uint32_t free_bytes) { acknowledged(number, free_bytes); }));
        if (listening->Bind(to) || listening->Listen() || sending->Bind(from) || sending->Connect(to))
        {
            throw std::runtime_error("ns-3 cannot open a connection");
        }
        m_open.push_back({sending, listening, sending->GetTxAvailable(), 0});
        return number;
    }

    // Send a message on a connection that has none; `next` returns its number when all is acknowledged.
    void send(int connection, uint32_t count_bytes, int64_t number)
    {
        Open& open = m_open[connection];
        open.message = number;
        if (open.sending->Send(Create<Packet>(count_bytes)) != static_cast<int>(count_bytes))
        {
            throw std::runtime_error("ns-3 does not take a message");
        }
    }

    // Let `next` return a number at a time.
    void at(int64_t time_ns, int64_t number)
    {
        Time wait = std::max(NanoSeconds(time_ns) - Simulator::Now(), Time(0));
        Simulator::Schedule(wait, [this, number]() { tell(number); });
    }

    // Simulate until the next message or time, and return its number; -1 when nothing is left.
    int64_t next()
    {
        if (m_told.empty())
        {
            Simulator::Run();
        }
        if (m_told.empty())
        {
            return -1;
        }
        int64_t number = m_told.front();
        m_told.pop_front();
        return number;
    }

    int64_t now_ns() const
    {
        return Simulator::Now().GetNanoSeconds();
    }

  private:
    struct End
    {
        int node;
        int interface;
    };

    struct Pair
    {
        int sender;
        int receiver;
        Ipv4Address sending;
        Ipv4Address receiving;
    };

    struct Open
    {
        Ptr<Socket> sending;
        Ptr<Socket> listening;
        uint32_t empty_bytes; // free in the buffer of the sender when all is acknowledged
        int64_t message;      // on its way; 0: none
    };

    void tell(int64_t number)
    {
        m_told.push_back(number);
        Simulator::Stop();
    }

    void acknowledged(int connection, uint32_t free_bytes)
    {
        Open& open = m_open[connection];
        if (open.message && free_bytes == open.empty_bytes)
        {
            tell(std::exchange(open.message, 0));
        }
    }

    static void read(Ptr<Socket> socket)
    {
        while (socket->Recv())
        {
        }
    }

    // Give the host where a step begins an address, there, since packets get that of the link that they leave by.
    int address(int step, Ipv4Address own)
    {
        const End& end = m_ends[step];
        m_nodes.Get(end.node)->GetObject<Ipv4>()->AddAddress(end.interface, Ipv4InterfaceAddress(own, Ipv4Mask("/30")));
        return end.node;
    }

    // Let all nodes of a way send what goes to an address along the way.
    void route(const std::vector<int>& way, Ipv4Address to)
    {
        for (int step : way)
        {
            Ptr<Ipv4> ip = m_nodes.Get(m_ends[step].node)->GetObject<Ipv4>();
            Ipv4StaticRoutingHelper().GetStaticRouting(ip)->AddHostRouteTo(to, m_ends[step].interface);
        }
    }

    int m_hosts;
    uint32_t m_mtu;
    uint32_t m_interfaces = 0; // each has an address of its own, 11.0.0.0 + its number: ns-3 wants one
    NodeContainer m_nodes;
    std::vector<End> m_ends; // where each step begins
    std::vector<Pair> m_pairs;
    std::vector<Open> m_open;
    std::deque<int64_t> m_told;
};
} // namespace artist
